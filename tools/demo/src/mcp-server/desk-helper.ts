import { McpServer } from '@modelcontextprotocol/server';
import type { Gate, ReceiptVerifier } from '@postern/mcp';
import { registerBookShop } from './book-shop.ts';
import type { Ledger } from './ledger.ts';
import { registerPickup } from './pickup.ts';
import type { PickupDesk } from './pickup-desk.ts';
import { registerRepositories } from './repositories.ts';
import { registerWeather } from './weather.ts';

export interface DeskHelperOptions {
  readonly gate: Gate;
  readonly forgeUrl: string;
  readonly weatherUrl: string;
  readonly receiptVerifier: ReceiptVerifier;
  readonly ledger: Ledger;
  readonly pickupDesk: PickupDesk;
}

/** Creates an MCP server whose tools elicit every kind. One instance serves one connection. */
export function createDeskHelper(options: DeskHelperOptions): McpServer {
  const mcpServer = new McpServer({ name: 'desk-helper', title: 'Desk Helper', version: '0.1.0' });
  registerRepositories(mcpServer, options);
  registerBookShop(mcpServer, options);
  registerWeather(mcpServer, options);
  registerPickup(mcpServer, options);
  return mcpServer;
}
