#!/usr/bin/env bash
# Trains and calibrates the built-in model wake: pretrained/wake.sh DATA OUT
#
# recordings.sh describes DATA and OUT.
# shellcheck source=pretrained/recordings.sh
. "$(dirname "$0")/recordings.sh" "$1" "$2"
"$s4d" train audio --data wake-words \
	--other coffee-orders,english,spanish,french,speech-commands-12,arabic-sc,near,frequent --background esc10 \
	--seed 1 --threads 1 --set model.d_model=64 --set ssm.d_state=16 --set data.streams=2560 --set train.epochs=100 --out wake-run
"$s4d" calibrate wake-run/best.safetensors --words test/wake-words --snr 10 \
	--background test/italian --background test/arabic-sc --false-alarms 10 --write wake.safetensors
