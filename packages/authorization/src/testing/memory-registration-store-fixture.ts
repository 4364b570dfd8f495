import type { ClientRegistrationStore } from '../registration/dynamic-client-registration.ts';

/** For tests: the port in memory. Every call takes a turn of the event loop, so that concurrent calls interleave. */
export function createMemoryRegistrationStore(): ClientRegistrationStore & { readonly values: Map<string, string> } {
  const values = new Map<string, string>();
  const turn = () => new Promise<void>(resolve => setImmediate(resolve));

  return {
    values,
    async read(key) {
      await turn();
      return values.get(key);
    },
    async putIfAbsent(key, value) {
      await turn();
      const kept = values.get(key) ?? value;
      values.set(key, kept);
      return kept;
    },
    async remove(key, expected) {
      await turn();
      if (values.get(key) === expected) values.delete(key);
    },
  };
}
