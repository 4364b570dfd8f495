export interface Purchase {
  /** The subject of the buyer. */
  readonly buyer: string;
  readonly reference: string;
  readonly cents: number;
}

/** Replaces the shop's payment system. Each purchase has an idempotency key. */
export interface Ledger {
  /** Charges once per key. @returns the number of the purchase */
  charge(idempotencyKey: string, purchase: Purchase): number;
  purchasesOf(buyer: string): readonly Purchase[];
}

export function createLedger(): Ledger {
  const purchases = new Map<string, Purchase & { readonly number: number }>();
  return {
    charge(idempotencyKey, purchase) {
      const charged = purchases.get(idempotencyKey) ?? { ...purchase, number: purchases.size + 1 };
      purchases.set(idempotencyKey, charged);
      return charged.number;
    },
    purchasesOf: buyer => [...purchases.values()].filter(purchase => purchase.buyer === buyer),
  };
}
