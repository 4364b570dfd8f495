import { EventEmitter } from 'node:events';
import type { GateContext } from '../ask/verbs.ts';
import { CapabilityMissingError } from '../errors.ts';
import { isElicitationPending } from '../run/tool-call.ts';
import { scripts } from './scripts.ts';

/** Emits `end` when a handler has ended in any way. */
export const handlers = new EventEmitter();

/**
 * A tool that reports how its ask ended. A title that names a script runs that script; a title that is a URL is fetched with the
 * account.
 */
export async function outcome(gate: GateContext, { title }: { title: string }) {
  try {
    const say = (text: string) => ({ content: [{ type: 'text' as const, text }] });
    try {
      const script = scripts[title];
      if (script !== undefined) return say(await script(gate));
      const github = await gate.try.authorize('github');
      if (github.action !== 'accept') return say(`${github.action}: ${github.reason}`);
      return say(URL.canParse(title) ? String((await github.fetch(title)).status) : 'accept');
    } catch (error) {
      if (isElicitationPending(error) || error instanceof CapabilityMissingError) throw error;
      return say(`error: ${error instanceof Error && 'code' in error ? error.code : error}`);
    }
  } finally {
    handlers.emit('end');
  }
}
