package asm

// family names the files of one generator.
type family struct {
	name     string
	generate func(*file)
}

// families lists every generator. The file with the name of a family holds its generator.
var families = []family{
	{"adamw", adamW},
	{"cauchy", cauchy},
	{"cexp", cexp},
	{"cmul", cmul},
	{"embed", embed},
	{"fft", fft},
	{"ffttransform", ffttransform},
	{"gemm", gemm},
	{"lookahead", lookAhead},
	{"norm", norm},
	{"peak", peak},
	{"math", mathematics},
	{"pointwise", pointwise},
	{"rankone", rankOne},
	{"reduce", reduce},
	{"scan", scan},
	{"vandermonde", vandermonde},
}
