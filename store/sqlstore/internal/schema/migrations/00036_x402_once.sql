-- +goose Up
-- A payment by x402 belongs to one service: its reference names the nonce, which moves the token once. Processes that do not know this
-- index must stop first, because they would count its refusal as a repeated payment-identifier.
CREATE UNIQUE INDEX payments_x402 ON payments (reference) WHERE rail = 'x402';
