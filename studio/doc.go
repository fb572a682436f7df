// Package studio serves a local web page that learns the user's words: it records clips, trains a
// word detector on them, listens with it, and turns wrong and missed events into training data.
//
// A project is a folder in the layout of the task audio (docs/training.md): WORD/*.wav, _background
// and _other. The page sends all its requests to a small interface under /api, which requires the
// server's token. docs/studio.md describes the page, its limits and its security.
package studio
