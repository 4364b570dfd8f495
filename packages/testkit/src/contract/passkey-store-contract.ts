import { FIRST_DELAY_MS, type NewPasskey, PASSKEY_NOTICE_MS, type Subject } from '@postern/elicitation';
import { expect, test } from 'vitest';
import { CROWD, crowd, suite } from './contract-stores.ts';
import { passkeyFor, somebody } from './samples.ts';

const MAX = 10;

/** PasskeyStore: a user's passkeys, and a signature counter that only grows. */
export const describePasskeyStore = suite('passkeys', stores => {
  const passkey = (subject: Subject, change: Partial<NewPasskey> = {}) =>
    passkeyFor(subject, {
      publicKey: 'pQECAyYgASFYIA',
      signCount: 7,
      transports: ['usb', 'nfc'],
      label: 'Key on my "desk" 🔑',
      ...change,
    });
  async function added(change: Partial<NewPasskey> = {}, subject = somebody()): Promise<NewPasskey> {
    const made = passkey(subject, change);
    expect(await stores.passkeys.add(made, MAX)).toBe('added');
    return made;
  }
  const use = (of: NewPasskey, signCount: number, backedUp = of.backedUp) =>
    stores.passkeys.use({ subject: of.subject, passkeyId: of.passkeyId, signCount, backedUp });
  const stored = async (of: NewPasskey) => (await stores.passkeys.list(of.subject))[0];

  test('lists the passkeys of one person, oldest first', async () => {
    const person = somebody();
    expect(await stores.passkeys.list(person)).toEqual([]);
    const start = stores.clock.now();
    const first = await added({ transports: [] }, person);
    stores.clock.advance(1);
    const second = await added({ signCount: 0, backedUp: true }, person);
    await added();
    expect(await stores.passkeys.list(person)).toEqual([
      { ...first, createdAt: start },
      { ...second, createdAt: start + 1 },
    ]);
  });

  test('adds an id once and never overwrites it', async () => {
    const person = somebody();
    const first = await added({}, person);
    const before = await stored(first);
    const other = passkey(person, { passkeyId: first.passkeyId, publicKey: 'another', signCount: 0 });
    expect(await stores.passkeys.add(other, MAX)).toBe('exists');
    expect(await stores.passkeys.list(person)).toEqual([before]);
    // The same if there is no room for another passkey.
    expect(await stores.passkeys.add(other, 1)).toBe('exists');
  });

  test('refuses a passkey beyond the maximum, until one is removed', async () => {
    const person = somebody();
    const first = await added({}, person);
    expect(await stores.passkeys.add(passkey(person), 1)).toBe('full');
    expect(await stores.passkeys.add(passkey(person), 2)).toBe('added');
    expect(await stores.passkeys.add(passkey(person), 2)).toBe('full');
    await stores.passkeys.remove(person, first.passkeyId);
    expect(await stores.passkeys.add(passkey(person), 2)).toBe('added');
    expect(await stores.passkeys.list(person)).toHaveLength(2);
  });

  test('never exceeds the maximum with many concurrent additions', async () => {
    const person = somebody();
    const results = await crowd(() => stores.passkeys.add(passkey(person), 3));
    expect(results.filter(result => result === 'added')).toHaveLength(3);
    expect(results.filter(result => result === 'full')).toHaveLength(CROWD - 3);
    expect(await stores.passkeys.list(person)).toHaveLength(3);
  });

  test('adds a passkey that another passkey authorized, while that one exists', async () => {
    const person = somebody();
    const first = await added({}, person);
    const second = passkey(person);
    expect(await stores.passkeys.add(second, MAX, first.passkeyId)).toBe('added');
    await stores.passkeys.remove(person, first.passkeyId);
    const before = await stores.passkeys.list(person);
    expect(await stores.passkeys.add(passkey(person), MAX, first.passkeyId)).toBe('not_permitted');
    const stranger = await added();
    expect(await stores.passkeys.add(passkey(person), MAX, stranger.passkeyId)).toBe('not_permitted');
    expect(await stores.passkeys.list(person)).toEqual(before);
  });

  test('a use stores counter, backup state and time', async () => {
    const made = await added();
    const before = await stored(made);
    stores.clock.advance(5_000);
    expect(await use(made, 8, true)).toBe('used');
    expect(await stored(made)).toEqual({
      ...before,
      signCount: 8,
      backedUp: true,
      lastUsedAt: stores.clock.now(),
    });
    expect(await use(made, 1_000)).toBe('used');
  });

  test('a rename changes the name and nothing else', async () => {
    const made = await added();
    await use(made, 8);
    const before = await stored(made);
    const label = 'Büro <b>"1"</b> 7 0 x {"layout":1}';
    expect(await stores.passkeys.rename(made.subject, made.passkeyId, label)).toBe(true);
    expect(await stores.passkeys.rename(made.subject, made.passkeyId, label)).toBe(true);
    expect(await stored(made)).toEqual({ ...before, label });
    expect(await stores.passkeys.lastChange(made.subject)).toMatchObject({ at: before?.createdAt });
    expect(await stores.passkeys.rename(somebody(), made.passkeyId, 'Mine')).toBe(false);
    expect(await stored(made)).toMatchObject({ label });
  });

  test('renaming while the passkey is used loses neither', async () => {
    const made = await added();
    const results = await crowd(async nth =>
      nth % 2 === 0 ? use(made, 100 + nth) : stores.passkeys.rename(made.subject, made.passkeyId, `Key ${nth}`),
    );
    expect(results.filter(result => result === true)).toHaveLength(results.length / 2);
    const after = await stored(made);
    expect(after?.label).toMatch(/^Key \d+$/);
    expect(after?.signCount).toBe(100 + results.length - 2);
  });

  // WebAuthn section 7.2, step 22.
  test.each([
    { stored: 7, asserted: 7 },
    { stored: 7, asserted: 6 },
    { stored: 7, asserted: 0 },
    { stored: 10, asserted: 9 },
  ])('rejects a counter of $asserted after $stored as stale, and writes nothing', async ({ stored: of, asserted }) => {
    const made = await added({ signCount: of });
    const before = await stored(made);
    expect(await use(made, asserted, true)).toBe('stale');
    expect(await stored(made)).toEqual(before);
  });

  test('accepts an authenticator without a counter until it reports one', async () => {
    const made = await added({ signCount: 0 });
    expect(await use(made, 0)).toBe('used');
    stores.clock.advance(1);
    expect(await use(made, 0)).toBe('used');
    expect(await stored(made)).toMatchObject({ signCount: 0, lastUsedAt: stores.clock.now() });
    expect(await use(made, 9)).toBe('used');
    expect(await use(made, 0)).toBe('stale');
  });

  test('stores a counter of 32 bits exactly', async () => {
    const made = await added({ signCount: 0xffff_fffe });
    expect(await use(made, 0xffff_ffff)).toBe('used');
    expect(await stored(made)).toMatchObject({ signCount: 0xffff_ffff });
  });

  test('accepts one of many concurrent assertions with the same counter', async () => {
    const made = await added();
    const results = await crowd(() => use(made, 8));
    expect(results.filter(result => result === 'used')).toHaveLength(1);
    expect(results.filter(result => result === 'stale')).toHaveLength(CROWD - 1);
  });

  test('keeps the greatest counter of many concurrent assertions', async () => {
    const made = await added();
    const results = await crowd(nth => use(made, 8 + nth));
    expect(results).toContain('used');
    expect(await stored(made)).toMatchObject({ signCount: 8 + CROWD - 1 });
  });

  test('refuses a passkey that is unknown, removed or of another person', async () => {
    const made = await added();
    const before = await stored(made);
    expect(await use(passkey(made.subject), 100)).toBe('unknown');
    expect(await use({ ...made, subject: somebody() }, 100)).toBe('unknown');
    expect(await stored(made)).toEqual(before);
    await stores.passkeys.remove(made.subject, made.passkeyId);
    expect(await use(made, 100)).toBe('unknown');
    expect(await stores.passkeys.list(made.subject)).toEqual([]);
  });

  test('a reset removes all passkeys of one person and returns their number', async () => {
    const person = somebody();
    const [first, other] = [await added({}, person), await added()];
    await added({}, person);
    expect(await stores.passkeys.reset(person)).toBe(2);
    expect(await stores.passkeys.list(person)).toEqual([]);
    expect(await use(first, 100)).toBe('unknown');
    expect(await stores.passkeys.reset(person)).toBe(0);
    expect(await stores.passkeys.list(other.subject)).toHaveLength(1);
  });

  test('delays the first passkey after a reset, and every passkey that it authorized', async () => {
    const person = somebody();
    await added({}, person);
    expect(await stores.passkeys.countFrom(person)).toBeUndefined();
    await stores.passkeys.reset(person);
    stores.clock.advance(5_000);
    const first = await added({}, person);
    const from = stores.clock.now() + FIRST_DELAY_MS;
    expect(await stores.passkeys.countFrom(person)).toEqual({ at: from, isLimited: false });
    stores.clock.advance(5_000);
    expect(await stores.passkeys.add(passkey(person), MAX, first.passkeyId)).toBe('added');
    expect(await stores.passkeys.countFrom(person)).toEqual({ at: from, isLimited: false });
    // Removing the passkey and adding another one does not shorten the delay.
    await stores.passkeys.remove(person, first.passkeyId);
    await added({}, person);
    expect(await stores.passkeys.countFrom(person)).toEqual({ at: from, isLimited: false });
  });

  test('a reset of a person without passkeys changes nothing', async () => {
    const person = somebody();
    expect(await stores.passkeys.reset(person)).toBe(0);
    await added({}, person);
    expect(await stores.passkeys.countFrom(person)).toBeUndefined();
  });

  test('delays all of many passkeys that are added concurrently after a reset', async () => {
    const person = somebody();
    await added({}, person);
    await stores.passkeys.reset(person);
    const results = await crowd(() => stores.passkeys.add(passkey(person), 3));
    expect(results.filter(result => result === 'added')).toHaveLength(3);
    expect(await stores.passkeys.countFrom(person)).toEqual({
      at: stores.clock.now() + FIRST_DELAY_MS,
      isLimited: false,
    });
  });

  test.each([
    { first: 'limited', isLimited: true },
    { first: 'later', isLimited: false },
  ] as const)('a first passkey ($first) and those that it authorized count later', async ({ first, isLimited }) => {
    const person = somebody();
    const made = passkey(person);
    expect(await stores.passkeys.add(made, MAX, undefined, first)).toBe('added');
    const counts = { at: stores.clock.now() + FIRST_DELAY_MS, isLimited };
    expect(await stores.passkeys.countFrom(person)).toEqual(counts);
    stores.clock.advance(5_000);
    expect(await stores.passkeys.add(passkey(person), MAX, made.passkeyId, first)).toBe('added');
    expect(await stores.passkeys.countFrom(person)).toEqual(counts);
  });

  test('removing a delayed passkey and adding another one does not shorten the delay', async () => {
    const person = somebody();
    const made = passkey(person);
    await stores.passkeys.add(made, MAX, undefined, 'later');
    await stores.passkeys.remove(person, made.passkeyId);
    stores.clock.advance(5_000);
    await stores.passkeys.add(passkey(person), MAX, undefined, 'limited');
    expect(await stores.passkeys.countFrom(person)).toEqual({
      at: stores.clock.now() + FIRST_DELAY_MS,
      isLimited: false,
    });
    // A first passkey after a reset is not even within the limit for first passkeys.
    await stores.passkeys.reset(person);
    stores.clock.advance(2 * FIRST_DELAY_MS);
    await stores.passkeys.add(passkey(person), MAX, undefined, 'limited');
    expect(await stores.passkeys.countFrom(person)).toMatchObject({ isLimited: false });
  });

  test('records a change of the passkeys, and treats changes without a later use of an older passkey as one', async () => {
    const person = somebody();
    expect(await stores.passkeys.lastChange(person)).toBeUndefined();
    const start = stores.clock.now();
    const first = await added({}, person);
    expect(await stores.passkeys.lastChange(person)).toEqual({ since: start, at: start });
    stores.clock.advance(5_000);
    await use(first, 8);
    stores.clock.advance(5_000);
    const second = passkey(person);
    await stores.passkeys.add(second, MAX, first.passkeyId);
    stores.clock.advance(5_000);
    // It did not exist before the first change.
    await use(first, 9);
    await use(second, 8);
    stores.clock.advance(5_000);
    await stores.passkeys.remove(person, first.passkeyId);
    expect(await stores.passkeys.lastChange(person)).toEqual({ since: start, at: start + 20_000 });
    expect(await stores.passkeys.remove(person, first.passkeyId)).toBe(false);
    stores.clock.advance(PASSKEY_NOTICE_MS);
    const third = passkey(person);
    await stores.passkeys.add(third, MAX, second.passkeyId);
    const later = stores.clock.now();
    expect(await stores.passkeys.lastChange(person)).toEqual({ since: later, at: later });
    stores.clock.advance(5_000);
    await use(third, 8);
    stores.clock.advance(5_000);
    await stores.passkeys.remove(person, third.passkeyId);
    expect(await stores.passkeys.lastChange(person)).toEqual({ since: later, at: later + 10_000 });
    stores.clock.advance(5_000);
    // The use of an older passkey shows that the user knows, so the next change is a separate one.
    await use(second, 9);
    stores.clock.advance(5_000);
    await stores.passkeys.reset(person);
    expect(await stores.passkeys.lastChange(person)).toEqual({ since: later + 20_000, at: later + 20_000 });
  });

  test('removes only a passkey of this person, once', async () => {
    const made = await added();
    const other = await added();
    expect(await stores.passkeys.remove(other.subject, made.passkeyId)).toBe(false);
    expect(await stores.passkeys.list(made.subject)).toHaveLength(1);
    expect(await stores.passkeys.remove(made.subject, made.passkeyId)).toBe(true);
    expect(await stores.passkeys.remove(made.subject, made.passkeyId)).toBe(false);
    expect(await stores.passkeys.list(other.subject)).toHaveLength(1);
  });
});
