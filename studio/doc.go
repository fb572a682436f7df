// Package studio serves a local web page that learns the user's words: it records clips, trains a
// word detector on them, listens with it, and turns wrong and missed events into training data.
//
// A project is a folder in the layout of the task audio (docs/data.md): WORD/*.wav, _background and
// _other. Everything that the page does is a request of the same small interface under /api, which
// needs the server's token. docs/studio.md describes the page, its limits and its security.
package studio
