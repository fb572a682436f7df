// Package fftkernel turns poles into convolutions: complex FFT plans, causal and bidirectional
// convolution of pairs of rows, the Vandermonde kernel of a diagonal SSM with its gradient, and the
// Cauchy kernel of S4, diagonal plus rank one, with its own.
//
// Rows are float32, time contiguous. Spectra and transforms are split: all real parts, then all
// imaginary parts. Their order is unspecified; FFT.Order returns it. Poles and weights are
// complex128. Plans are immutable and may be shared. The caller provides all scratch memory, and
// the hot methods allocate nothing. docs/maths.md §9.1, §9.2, §9.3 and §17.2 describe the methods.
package fftkernel
