"""The command, which says how much processor time each stage took, or kills itself (SIGKILL) in the middle of one.

Only the command itself knows when a stage begins, and processor time does not depend on what else the machine does.
The variables are STAGE_TIMES, a file to write to, or KILL_STAGE and KILL_SECONDS. Seconds add up if a stage is entered
several times.
"""

import json
import os
import signal
import threading
import time
from pathlib import Path

from lookalike.cli.main import main
from lookalike.engine.progress import Progress

spent: dict[str, float] = {}
stage, since = "", 0.0
resume, pause = Progress._resume, Progress._pause


def resume_timed(self):
    global stage, since
    resume(self)
    stage, since = self._active[-1][0], time.process_time()


def pause_timed(self):
    global stage
    spent[stage] = spent.get(stage, 0.0) + time.process_time() - since
    stage = ""
    pause(self)
    if "STAGE_TIMES" in os.environ:
        Path(os.environ["STAGE_TIMES"]).write_text(json.dumps(spent))


def kill_in(wanted, seconds):
    while stage != wanted or spent.get(wanted, 0.0) + time.process_time() - since < seconds:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    Progress._resume, Progress._pause = resume_timed, pause_timed
    if "KILL_STAGE" in os.environ:
        given = os.environ["KILL_STAGE"], float(os.environ["KILL_SECONDS"])
        threading.Thread(target=kill_in, args=given, daemon=True).start()
    main()
