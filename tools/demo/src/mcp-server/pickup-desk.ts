import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';

interface Locker {
  readonly person: string;
  readonly day: string;
  readonly salt: Buffer;
  readonly hash: Buffer;
}

/** Lockers for purchases. Each opens with the code that its user has chosen. */
export interface PickupDesk {
  /** Reserves once per key. @returns the number of the locker */
  reserve(idempotencyKey: string, reservation: { person: string; day: string; code: string }): number;
  opens(person: string, code: string): boolean;
}

export function createPickupDesk(): PickupDesk {
  const lockers = new Map<string, Locker>();
  const hashOf = (code: string, salt: Buffer) => scryptSync(code, salt, 32);
  return {
    reserve(idempotencyKey, { person, day, code }) {
      if (!lockers.has(idempotencyKey)) {
        const salt = randomBytes(16);
        lockers.set(idempotencyKey, { person, day, salt, hash: hashOf(code, salt) });
      }
      return [...lockers.keys()].indexOf(idempotencyKey) + 1;
    },
    opens: (person, code) =>
      [...lockers.values()].some(
        locker => locker.person === person && timingSafeEqual(hashOf(code, locker.salt), locker.hash),
      ),
  };
}
