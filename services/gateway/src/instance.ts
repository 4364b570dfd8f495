import { hostname } from 'node:os';

/** Names this process in the log among all that write to the same place. A container has the host name of its container or pod. */
export const instance: string = `${hostname()}:${process.pid}`;
