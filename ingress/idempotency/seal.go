package idempotency

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"errors"
)

func gcm(key [32]byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal is a random nonce and the text under AES-256-GCM.
func seal(key [32]byte, text []byte) ([]byte, error) {
	box, err := gcm(key)
	if err != nil {
		return nil, err
	}
	nonce := make([]byte, box.NonceSize(), box.NonceSize()+len(text)+box.Overhead())
	rand.Read(nonce) // never fails: the runtime ends the process instead
	return box.Seal(nonce, nonce, text, nil), nil
}

// open is the inverse of seal.
func open(key [32]byte, sealed []byte) ([]byte, error) {
	box, err := gcm(key)
	if err != nil {
		return nil, err
	}
	if len(sealed) < box.NonceSize() {
		return nil, errors.New("a sealed reply is cut short")
	}
	return box.Open(nil, sealed[:box.NonceSize()], sealed[box.NonceSize():], nil)
}
