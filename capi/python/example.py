"""Prints the words in a WAV file of 16 bits: python3 example.py FILE [MODEL]"""
import sys
import wave

import numpy
import s4d_fast

with wave.open(sys.argv[1]) as sound, s4d_fast.Model((sys.argv[2:] or ["digits"])[0]) as model, model.stream() as stream:
    if (sound.getframerate(), sound.getnchannels(), sound.getsampwidth()) != (model.sample_rate, 1, 2):
        sys.exit(f"{sys.argv[1]}: expected one channel of 16 bits at {model.sample_rate:g} Hz")
    events = []
    while block := sound.readframes(1024):
        events += stream.process(numpy.frombuffer(block, numpy.int16))
    for event in events + stream.flush():
        print(event.label, event.onset / model.sample_rate, event.end / model.sample_rate, event.confidence)
