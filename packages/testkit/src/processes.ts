/** For tests that start programs: ports that no other test gets, and programs that end with the test. */
export { endingWithParent } from './end-with-parent.ts';
export { freePort, type ReservedPort, reservePort } from './reserved-port.ts';
export { startAll } from './start-all.ts';
