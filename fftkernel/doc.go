// Package fftkernel turns poles into convolutions: complex FFT plans, causal and bidirectional convolution of
// pairs of rows, and the Vandermonde kernel of a diagonal SSM with its gradient.
//
// Rows are float32, time contiguous; spectra and transforms are split (all real parts, then all imaginary
// ones) and stand in an order that is the plan's secret. Poles and weights come as complex128. Plans are
// immutable and shared; the caller owns all scratch, and no method of a plan allocates.
package fftkernel
