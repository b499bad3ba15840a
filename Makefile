# Everything runs in .venv, which the first target that needs it builds; only Python 3.11+ must be there.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
TRAINED := $(basename $(notdir $(wildcard results/training/*.jsonl)))

.PHONY: demo test test-slow browser check format figures clean

demo: $(INSTALLED)  ## register two clouds of one object; writes demo/
	$(BIN)/deepume demo

test: $(INSTALLED) browser  ## the tests, a few minutes
	$(BIN)/python -m pytest

test-slow: $(INSTALLED)  ## the tests that take longer
	$(BIN)/python -m pytest -m slow

browser:  ## Chromium for the tests in a browser, where it is missing and may be installed
	@which chromium chromium-browser google-chrome 2>/dev/null | grep -q . \
	|| { [ "$$(id -u)" = 0 ] && apt-get update -qq \
	     && apt-get install -qq --yes --no-install-recommends chromium >/dev/null; } \
	|| echo "There is no Chromium and it cannot be installed here: tests in a browser are skipped."

check: $(INSTALLED)  ## format, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports

format: $(INSTALLED)  ## mend format and lint
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

figures: demo browser  ## the pictures of the README and the docs; screenshots are those of the tests
	cp demo/demo.png docs/pictures/demo.png
	for name in $(TRAINED); do \
		$(BIN)/python -m deepume.viewer.curves results/training/$$name.jsonl docs/pictures/training-$$name.png; done
	$(BIN)/python -m pytest tests/browser -k "readable or screenshot" --pictures docs/pictures

clean:  ## remove what was built
	rm -rf .venv demo dist

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@
