package bench

import "strconv"

// publisher is a caller that publishes records of its own. What it writes is valid
// until its next one.
type publisher struct {
	bodies *bodyMaker
	name   string // what its keys begin with
	n      int64
	out    []byte
}

// newPublishers gives one for each caller.
func newPublishers(callers, size int) []*publisher {
	publishers := make([]*publisher, callers)
	for i, bodies := range newBodyMakers(callers, size) {
		publishers[i] = &publisher{bodies: bodies, name: randomText(10) + "-"}
	}
	return publishers
}

// key is that of the record whose turn it is; also its operation's id.
func (p *publisher) key() string { return p.name + strconv.FormatInt(p.n, 10) }

// form is how a publication is written.
type form struct {
	media string
	write func(p *publisher, operation string) []byte
}

var (
	asJSON  = form{mediaJSON, (*publisher).json}
	asParts = form{mediaParts, (*publisher).parts}
)

// json is a publication of one section as JSON.
func (p *publisher) json(operation string) []byte {
	p.out = append(append(p.out[:0], `{"operation_id":"`...), operation...)
	p.out = append(append(p.out, `","sections":{"items":{"body":"`...), p.bodies.text...)
	p.out = append(p.out, `"}}}`...)
	return p.out
}

const (
	boundary   = "0123456789abcdef0123456789abcdef"
	mediaParts = "multipart/form-data; boundary=" + boundary
)

// parts is a publication of one section in parts (RFC 7578).
func (p *publisher) parts(operation string) []byte {
	const (
		describe = "--" + boundary + "\r\nContent-Disposition: form-data; name=\"publication\"\r\nContent-Type: application/json\r\n\r\n"
		section  = "\r\n--" + boundary + "\r\nContent-Disposition: form-data; name=\"items\"\r\nContent-Type: application/octet-stream\r\n\r\n"
		end      = "\r\n--" + boundary + "--\r\n"
	)
	p.out = append(append(p.out[:0], describe+`{"operation_id":"`...), operation...)
	p.out = append(append(p.out, `"}`+section...), p.bodies.bytes...)
	p.out = append(p.out, end...)
	return p.out
}

// many is the body of a request that makes so many new records.
func (p *publisher) many(n int) []byte {
	p.out = append(p.out[:0], `{"items":[`...)
	for i := range n {
		if i > 0 {
			p.out = append(p.out, ',')
		}
		p.n++
		p.bodies.next()
		p.out = append(append(p.out, `{"if_absent":true,"key":"`...), p.key()...)
		p.out = append(append(p.out, `","operation_id":"`...), p.key()...)
		p.out = append(append(p.out, `","sections":{"items":{"body":"`...), p.bodies.text...)
		p.out = append(p.out, `"}}}`...)
	}
	p.out = append(p.out, `]}`...)
	return p.out
}
