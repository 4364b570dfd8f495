export { type Constellation, startConstellation } from './constellation.ts';
export { type ConnectOptions, connectHost, type Era, eras, type HostConnection } from './host/connect-host.ts';
export { choosePorts, type Ports } from './ports.ts';
