"""Runs `hermes kanban` commands of whatever release is installed here.

One JSON list of arguments a line, one answer a line. Of the package only the module behind the
commands is loaded, so that nothing but the package has to be installed.
"""

import argparse
import contextlib
import io
import json
import sys
import traceback

from hermes_cli import kanban, kanban_db

parser = argparse.ArgumentParser()
kanban.build_parser(parser.add_subparsers())


def command(arguments):
    return kanban.kanban_command(parser.parse_args(["kanban", *arguments])) or 0


for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            arguments = json.loads(line)
            if arguments == ["where"]:
                # Not a command: where the functions of the package look.
                code = 0
                boards = [[row["slug"], row["db_path"]] for row in kanban_db.list_boards()]
                print(json.dumps([str(kanban_db.kanban_db_path()), boards]))
            else:
                code = command(arguments)
        except SystemExit as end:
            code = end.code
        except Exception:
            traceback.print_exc()
            code = 1
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
