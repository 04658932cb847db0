package objects

import "net/http"

// refusal lets an answer pass unless it is "not implemented".
type refusal struct {
	http.ResponseWriter
	final   bool // the answer was passed
	dropped bool // it was "not implemented", and is to be replaced
}

func (f *refusal) WriteHeader(status int) {
	switch {
	case status == http.StatusNotImplemented:
		f.dropped = true
		clear(f.Header())
		return
	case status >= http.StatusOK: // before that, another status follows
		f.final = true
	}
	f.ResponseWriter.WriteHeader(status)
}

func (f *refusal) Write(p []byte) (int, error) {
	if f.dropped {
		return len(p), nil
	}
	f.final = true
	return f.ResponseWriter.Write(p)
}
