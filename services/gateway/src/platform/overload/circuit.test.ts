import { expect, it } from 'vitest';
import { Circuit, type Passage } from './circuit.ts';

const TIMEOUTS = 5;
const PAUSE_MS = 10_000;

function createCircuit() {
  const clock = { ms: 1_000_000 };
  const changes: boolean[] = [];
  const circuit = new Circuit({ now: () => clock.ms, onChange: isOpen => changes.push(isOpen) });
  const pass = (isUrgent = false): Passage => {
    const passage = circuit.pass({ isUrgent });
    if (passage === undefined) throw new Error('stopped');
    return passage;
  };
  const isStopped = () => circuit.pausedMs > 0;
  const open = () => {
    for (let n = 0; n < TIMEOUTS; n += 1) pass().timedOut();
  };
  return { circuit, clock, changes, pass, isStopped, open };
}

it('S72: opens after repeated timeouts and stops further requests', () => {
  const { circuit, changes, pass, isStopped } = createCircuit();
  for (let n = 1; n < TIMEOUTS; n += 1) pass().timedOut();
  expect(isStopped()).toBe(false);
  pass().timedOut();
  expect(circuit.pass({ isUrgent: false })).toBeUndefined();
  expect(circuit.pausedMs).toBe(PAUSE_MS);
  expect(changes).toEqual([true]);
});

it('counts only timeouts in a row', () => {
  const { changes, pass, isStopped } = createCircuit();
  for (let n = 0; n < 4 * TIMEOUTS; n += 1) {
    if (n % TIMEOUTS === 0) pass().answered();
    else pass().timedOut();
  }
  expect(isStopped()).toBe(false);
  expect(changes).toEqual([]);
});

it('S72: probes with one request after the pause, and closes after its response', () => {
  const { circuit, clock, changes, pass, isStopped, open } = createCircuit();
  open();
  clock.ms += PAUSE_MS - 1;
  expect(isStopped()).toBe(true);
  clock.ms += 1;
  expect(isStopped()).toBe(false);
  const probe = pass();
  expect(circuit.pass({ isUrgent: false })).toBeUndefined();
  probe.answered();
  pass();
  pass();
  expect(changes).toEqual([true, false]);
});

it('pauses again when the probe times out', () => {
  const { clock, changes, pass, isStopped, open } = createCircuit();
  open();
  clock.ms += PAUSE_MS;
  pass().timedOut();
  expect(isStopped()).toBe(true);
  clock.ms += PAUSE_MS;
  expect(isStopped()).toBe(false);
  expect(changes).toEqual([true]);
});

it('S72: never stops an urgent request, and closes after its response', () => {
  const { circuit, changes, pass, isStopped, open } = createCircuit();
  open();
  expect(circuit.pass({ isUrgent: true })).toBeDefined();
  const first = pass(true);
  const second = pass(true);
  first.timedOut();
  expect(isStopped()).toBe(true);
  second.answered();
  expect(isStopped()).toBe(false);
  expect(changes).toEqual([true, false]);
});

it('ignores timeouts of requests that began before it opened, but not their responses', () => {
  const { clock, pass, isStopped, open } = createCircuit();
  const [late, later] = [pass(), pass()];
  open();
  clock.ms += PAUSE_MS;
  const probe = pass();
  late.timedOut();
  expect(isStopped()).toBe(true);
  later.answered();
  probe.timedOut();
  expect(isStopped()).toBe(false);
});

it('does not stay open because the clock was set back', () => {
  const { clock, isStopped, open } = createCircuit();
  open();
  clock.ms -= 3_600_000;
  expect(isStopped()).toBe(false);
});
