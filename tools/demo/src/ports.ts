import { choosePort } from './listen-http.ts';

/** The default ports of the demo. */
export const ports = {
  postern: 4400,
  identityProvider: 4401,
  codeForge: 4402,
  mcpServer: 4403,
  weatherStation: 4404,
  console: 4405,
} as const;

export type Ports = Readonly<Record<keyof typeof ports, number>>;

export const mcpUrlAt = (port: number): string => `http://localhost:${port}/mcp`;
export const MCP_URL = mcpUrlAt(ports.mcpServer);

/** Returns the default ports, replacing each port in use by a free one. */
export async function choosePorts(): Promise<Ports> {
  return {
    postern: await choosePort(ports.postern),
    identityProvider: await choosePort(ports.identityProvider),
    codeForge: await choosePort(ports.codeForge),
    mcpServer: await choosePort(ports.mcpServer),
    weatherStation: await choosePort(ports.weatherStation),
    console: await choosePort(ports.console),
  };
}
