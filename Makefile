# SPDX-License-Identifier: MIT
# A thin front for meson; `make help` lists the targets.
BUILD ?= build

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD)

.PHONY: all
