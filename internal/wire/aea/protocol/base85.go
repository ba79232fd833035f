package protocol

import "encoding/binary"

// base85Digits is the alphabet of RFC 1924, which Python's base64.b85encode also uses. Ascii85 has a different alphabet.
const base85Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// base85 encodes data like Python's base64.b85encode: four bytes become five digits, and n bytes at the end become n+1 digits.
func base85(data []byte) []byte {
	out := make([]byte, 0, (len(data)+3)/4*5)
	for len(data) > 0 {
		var four [4]byte
		n := copy(four[:], data)
		data = data[n:]
		value := binary.BigEndian.Uint32(four[:])
		var five [5]byte
		for i := len(five) - 1; i >= 0; i-- {
			five[i] = base85Digits[value%85]
			value /= 85
		}
		out = append(out, five[:n+1]...)
	}
	return out
}
