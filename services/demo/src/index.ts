export { type Constellation, startConstellation } from './constellation.ts';
export {
  connectHost,
  type Era,
  eras,
  type HostConnection,
  type HostOptions,
  type HostUser,
  type UrlQuestion,
} from './host/host.ts';
export { choosePorts, type Ports } from './ports.ts';
