#!/usr/bin/env bash
# Trains and calibrates the built-in model digits: pretrained/digits.sh DATA OUT
#
# recordings.sh describes DATA and OUT.
# shellcheck source=pretrained/recordings.sh
. "$(dirname "$0")/recordings.sh" "$1" "$2"
"$s4d" train digits --data "$data/fsdd" --words digits \
	--other near,frequent,arabic-sc,spanish,french,wake-words,coffee-orders,speech-commands-12 --background esc10 \
	--seed 1 --threads 1 --set data.streams=2560 --set train.epochs=150 --out digits-run
"$s4d" calibrate digits-run/best.safetensors --words "$data/fsdd/recordings" --label '^(\d)_\w+_[5-9]\.wav$' \
	--background test/italian --background test/arabic-sc --background test/speech-commands-12 --false-alarms 30 --write digits.safetensors
