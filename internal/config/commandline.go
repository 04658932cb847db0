package config

// commandLine is what the commands that call the API read.
func (l *loader) commandLine(v variables) Config {
	c := Config{Process: l.process, URL: v.URL}
	if plainURL(v.URL) == nil {
		l.problem("HOLDFAST_URL", "is not an http or https URL without user, query and fragment")
	}
	switch {
	case v.APIKey != "":
		c.APIKey = l.apiKey("HOLDFAST_API_KEY", v.APIKey)
	case v.OperatorKey != "":
		c.APIKey = l.apiKey("HOLDFAST_OPERATOR_KEY", v.OperatorKey)
	default:
		l.problem("HOLDFAST_API_KEY", "is required: an API key, hf_ID_SECRET, of an operator, or for identity import and token that of a tenant's principal")
	}
	return c
}
