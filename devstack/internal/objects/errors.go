package objects

import (
	"encoding/xml"
	"net/http"
)

// writeError answers with an S3 error document.
func writeError(w http.ResponseWriter, status int, code, message string) {
	type document struct {
		XMLName xml.Name `xml:"Error"`
		Code    string
		Message string
	}
	body, err := xml.Marshal(document{Code: code, Message: message})
	if err != nil {
		panic(err) // two strings always marshal
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), body...))
}
