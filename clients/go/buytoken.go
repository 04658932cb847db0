package holdfast

import "context"

// BuyToken buys one token with an API key, for a program that hands it on. A
// client that Connect makes buys its own.
//
// It asks once. Its errors are *Error where the service answered.
func BuyToken(ctx context.Context, baseURL, apiKey string, options ...Option) (Token, error) {
	tokens, err := newTokenSource(baseURL, apiKey, newSettings(options))
	if err != nil {
		return Token{}, err
	}
	bought, err := tokens.get(ctx)
	if err != nil {
		return Token{}, err
	}
	scope, _ := bought.Extra("scope").(string)
	seconds, _ := bought.Extra("expires_in").(float64)
	return Token{AccessToken: bought.AccessToken, TokenType: bought.Type(), ExpiresIn: int64(seconds), Scope: scope}, nil
}
