"""`python -m runwire` is the `runwire` command."""

from runwire.cli import main

if __name__ == "__main__":
    main()
