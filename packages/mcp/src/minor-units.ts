/** ISO 4217 currencies whose minor unit is not a hundredth, by how many decimals they have. `Intl` follows CLDR, which differs. */
const exceptions: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

const decimalsByCurrency = new Map(
  Object.entries(exceptions).flatMap(([decimals, codes]) => codes.split(' ').map(code => [code, Number(decimals)])),
);

/** `24.90 EUR`: unambiguous in any language, and no digit is lost. */
export function amountText({
  currency,
  minorUnits,
}: {
  readonly currency: string;
  readonly minorUnits: number;
}): string {
  const decimals = decimalsByCurrency.get(currency) ?? 2;
  const digits = String(minorUnits).padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  return `${decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`} ${currency}`;
}
