package vek

// Embed sets column t of x [channels][len(ids)] to row ids[t] of table [tokens][channels].
func Embed(x, table Matrix, ids []int32) {
	checkEmbed("Embed", x, table, ids)
	whole, t := x.Rows&^7, 0 // squares of 8 × 8, then the remaining channels and tokens
	for ; t+8 <= len(ids); t += 8 {
		embed(x.Data[t:], x.Stride, table.Data, table.Stride, ids[t:t+8], whole)
	}
	if t > 0 && whole < x.Rows {
		embedGeneric(x.Data[whole*x.Stride:], x.Stride, table.Data[whole:], table.Stride, ids[:t], x.Rows-whole)
	}
	if t < len(ids) {
		embedGeneric(x.Data[t:], x.Stride, table.Data, table.Stride, ids[t:], x.Rows)
	}
}

// EmbedGrad adds column t of dx [channels][len(ids)] to row ids[t] of dtable [tokens][channels], in
// the order of t.
func EmbedGrad(dtable, dx Matrix, ids []int32) {
	checkEmbed("EmbedGrad", dx, dtable, ids)
	whole, t := dx.Rows&^7, 0
	for ; t+8 <= len(ids); t += 8 {
		embedGrad(dtable.Data, dtable.Stride, dx.Data[t:], dx.Stride, ids[t:t+8], whole)
	}
	if t > 0 && whole < dx.Rows {
		embedGradGeneric(dtable.Data[whole:], dtable.Stride, dx.Data[whole*dx.Stride:], dx.Stride, ids[:t], dx.Rows-whole)
	}
	if t < len(ids) {
		embedGradGeneric(dtable.Data, dtable.Stride, dx.Data[t:], dx.Stride, ids[t:], dx.Rows)
	}
}

func checkEmbed(name string, x, table Matrix, ids []int32) {
	x.check(name)
	table.check(name)
	require(name, x.Rows > 0 && x.Rows == table.Cols && x.Cols == len(ids))
	for _, id := range ids {
		require(name, id >= 0 && int(id) < table.Rows)
	}
}

// x[h][t] = table[ids[t]][h]. The assembly works on eight tokens and a multiple of eight channels.
func embedGeneric(x []float32, xStride int, table []float32, tableStride int, ids []int32, channels int) {
	for h := range channels {
		row := x[h*xStride:][:len(ids)]
		for t, id := range ids {
			row[t] = table[int(id)*tableStride+h]
		}
	}
}

// table[ids[t]][h] = table[ids[t]][h] + x[h][t], in the order of t
func embedGradGeneric(table []float32, tableStride int, x []float32, xStride int, ids []int32, channels int) {
	for h := range channels {
		row := x[h*xStride:][:len(ids)]
		for t, id := range ids {
			table[int(id)*tableStride+h] += row[t]
		}
	}
}
