"""Runs `hermes kanban` commands of whatever release is installed here, and one more: `where`.

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


def where():
    """Where the package's own functions look, after it read its `.env` as its programs do."""
    from hermes_cli.env_loader import load_hermes_dotenv

    load_hermes_dotenv()
    fields = ("slug", "name", "db_path", "archived")
    boards = [[str(board[field] or "") for field in fields] for board in kanban_db.list_boards()]
    print(json.dumps({"meant": str(kanban_db.kanban_db_path()), "boards": boards}))
    return 0


def command(arguments):
    if arguments == ["where"]:
        return where()
    return kanban.kanban_command(parser.parse_args(["kanban", *arguments])) or 0


for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = command(json.loads(line))
        except SystemExit as end:
            code = end.code
        except Exception:
            traceback.print_exc()
            code = 1
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
