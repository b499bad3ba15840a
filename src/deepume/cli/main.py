"""The command ``deepume``, which is also ``python -m deepume.cli.main``."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

from deepume import __version__
from deepume.errors import DeepumeError


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code; ``--debug`` anywhere shows the traceback of a failure."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words == ["--version"]:
        print(f"deepume {__version__}")
        sys.exit(0)
    debug = "--debug" in words
    sys.exit(_run([word for word in words if word != "--debug"], debug))


def _run(words: list[str], debug: bool) -> int:
    from deepume.cli.exits import Exit

    try:
        return int(_parse(words).run())
    except DeepumeError as error:
        return _report(str(error), debug, Exit.BAD_INPUT)
    except KeyboardInterrupt:
        return _report("stopped.", False, Exit.INTERRUPTED)
    except BrokenPipeError:
        return Exit.SURE  # whoever reads our output has stopped reading, as ``head`` does
    except Exception as error:
        message = f"a fault of deepume's, {type(error).__name__}: {error}. Run again with --debug and report it."
        return _report(message, debug, Exit.FAULT)


def _report(message: str, debug: bool, code: int) -> int:
    if debug:
        traceback.print_exc()
    print(f"deepume: {message}", file=sys.stderr)
    return code


def _parse(words: list[str]):
    try:
        import tyro

        from deepume.cli.benchmark import Benchmark
        from deepume.cli.demo import Demo
        from deepume.cli.info import Info
        from deepume.cli.methods import Methods
        from deepume.cli.register import Register
        from deepume.cli.train import Train
        from deepume.cli.view import View
        from deepume.cli.weights import Export, Weights
    except ModuleNotFoundError as error:
        raise DeepumeError(f'The command line needs {error.name}: pip install "deepume[cli]"') from error

    Command = (
        Annotated[Register, tyro.conf.subcommand("register")]
        | Annotated[View, tyro.conf.subcommand("view")]
        | Annotated[Demo, tyro.conf.subcommand("demo")]
        | Annotated[Info, tyro.conf.subcommand("info")]
        | Annotated[Methods, tyro.conf.subcommand("methods")]
        | Annotated[Weights, tyro.conf.subcommand("weights")]
        | Annotated[Benchmark, tyro.conf.subcommand("benchmark")]
        | Annotated[Train, tyro.conf.subcommand("train")]
        | Annotated[Export, tyro.conf.subcommand("export")]
    )
    description = (
        "Find the rigid motion between two point clouds of one object. Exit status: 0 sure, 3 not sure, 2 bad input, "
        "1 a fault of ours. --debug shows the traceback of a failure, --version the version."
    )
    return tyro.cli(Command, prog="deepume", description=description, args=words)


if __name__ == "__main__":
    main()
