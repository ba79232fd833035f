"""Exact amounts of money."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

from ._errors import OptionsError

_UNIT = 10**9
_MAX_UNITS = 10**6
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?")
_CURRENCY = re.compile(r"[A-Z]{3}")


@dataclass(frozen=True)
class Amount:
    """An amount of a currency, such as 0.05 EUR: nano billionths of one unit."""

    nano: int
    currency: str

    @classmethod
    def parse(cls, text: str) -> Amount:
        """Reads "0.05 EUR". An amount has at most nine decimal places, and is at most a million."""
        number, _, currency = text.strip().partition(" ")
        return cls.of(number, currency.strip())

    @classmethod
    def of(cls, number: str, currency: str) -> Amount:
        """Reads a decimal number, and the three letters of ISO 4217."""
        if len(number) <= 40 and _NUMBER.fullmatch(number) and _CURRENCY.fullmatch(currency):
            nano = Decimal(number) * _UNIT
            if nano <= _MAX_UNITS * _UNIT and nano == int(nano):
                return cls(int(nano), currency)
        raise OptionsError("an amount must be such as 0.05 EUR: not negative, at most 1000000, with at most nine decimal places")

    @property
    def decimal(self) -> str:
        """The number, with at least two decimal places."""
        whole, part = divmod(abs(self.nano), _UNIT)
        digits = f"{part:09d}"
        return ("-" if self.nano < 0 else "") + f"{whole}.{digits[:2]}{digits[2:].rstrip('0')}"

    def __str__(self) -> str:
        return f"{self.decimal} {self.currency}"


def read_amount(number: object, currency: object) -> Amount | None:
    """Reads an amount that a service sent; None if it is not one."""
    if not isinstance(number, str) or not isinstance(currency, str):
        return None
    try:
        return Amount.of(number, currency)
    except OptionsError:
        return None
