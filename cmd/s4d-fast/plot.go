package main

// plotCmd draws what the paper's figures show.
type plotCmd struct {
	Poles    plotPolesCmd    `cmd:"" help:"Poles in the complex plane: of initialisations (Figure 3), or of a trained model (Figure 9)."`
	Response plotResponseCmd `cmd:"" help:"Frequency responses of initialisations, with and without decay (Figure 2), or of a trained model."`
}
