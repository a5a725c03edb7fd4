"""A disk whose `fsync` fails: a shared library between a program and the system."""

import os
import shutil
import subprocess
from pathlib import Path

COMPILER = shutil.which("cc") or shutil.which("gcc")
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int fails(void) {
    const char *path = getenv("FSYNC_FAILS_IF_EXISTS");
    return path && access(path, F_OK) == 0;
}

int fsync(int handle) {
    static int (*real)(int);
    if (fails()) { errno = EIO; return -1; }
    if (!real) real = dlsym(RTLD_NEXT, "fsync");
    return real(handle);
}

int fdatasync(int handle) {
    static int (*real)(int);
    if (fails()) { errno = EIO; return -1; }
    if (!real) real = dlsym(RTLD_NEXT, "fdatasync");
    return real(handle);
}
"""


def environment(folder: Path) -> dict[str, str]:
    """Variables with which `fsync` fails in a program as long as the file `fails` exists in the folder."""
    (folder / "shim.c").write_text(SOURCE)
    library = folder / "shim.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, folder / "shim.c", "-ldl"], check=True)
    return os.environ | {"LD_PRELOAD": str(library), "FSYNC_FAILS_IF_EXISTS": str(folder / "fails")}
