/**
 * Where registrations made at authorization servers are kept, for as long as they are of use: without an expiry, in a place
 * that all replicas share. Keys are opaque (43 characters of base64url). Values are texts that hold client secrets; whoever
 * implements this port seals them, bound to their key.
 */
export interface ClientRegistrationStore {
  read(key: string): Promise<string | undefined>;
  /** Stores the value unless there is one already, in one step; gives back the one that is stored now. */
  putIfAbsent(key: string, value: string): Promise<string>;
  /** Removes the value if it is still the expected one, in one step. */
  remove(key: string, expected: string): Promise<void>;
}
