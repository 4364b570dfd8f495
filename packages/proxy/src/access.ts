import type { GateContext } from '@postern/mcp';
import type { Injection, Secret } from './injections.ts';

/** The accounts and credentials that the person lets a call use. */
export interface Access {
  /** Gets the secrets from the gateway. @param rejected those that the upstream did not accept: refreshed, or asked for anew */
  read(rejected: readonly Injection[]): Promise<readonly Secret[]>;
}

type Read = (isRejected: boolean) => Promise<string>;

/** Asks the person for what is not connected yet: one link after another, in this order. */
export async function openAccess(gate: GateContext, injections: readonly Injection[]): Promise<Access> {
  const opened: { readonly injection: Injection; readonly read: Read }[] = [];
  for (const injection of injections) opened.push({ injection, read: await open(gate, injection) });
  return {
    async read(rejected) {
      const secrets: Secret[] = [];
      for (const { injection, read } of opened)
        secrets.push({ injection, value: await read(rejected.includes(injection)) });
      return secrets;
    },
  };
}

/** Name of the only field. */
export const VALUE = 'value';

async function open(gate: GateContext, { name, from }: Injection): Promise<Read> {
  if (from.type === 'account') {
    const { accessToken } = await gate.authorize(name, from.options);
    let last: string | undefined;
    return async isRejected => {
      last = await accessToken(isRejected && last !== undefined ? { rejected: last } : {});
      return last;
    };
  }
  const { read, rejected } = await gate.credential(from.request);
  return async isRejected => (isRejected ? (await rejected()).values : await read())[VALUE] ?? '';
}
