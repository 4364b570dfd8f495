import type { McpServer } from '@modelcontextprotocol/server';
import type { Gate } from '@postern/mcp';
import { z } from 'zod';
import { weatherKey } from './local-texts.ts';
import { answer, failure } from './tool-results.ts';

const forecastSchema = z.object({ place: z.string(), summary: z.string() });

/** A tool that needs an API key of the user, who types it once. The model never sees it. */
export function registerWeather(mcpServer: McpServer, p: { gate: Gate; weatherUrl: string }): void {
  const requestForecast = (place: string, apiKey: string) =>
    fetch(`${p.weatherUrl}/api/forecast?${new URLSearchParams({ place })}`, {
      headers: { 'x-api-key': apiKey },
      redirect: 'error',
    });

  mcpServer.registerTool(
    'get_forecast',
    {
      title: 'Weather forecast',
      description: 'Tells the weather of tomorrow at a place, from Weather Station.',
      inputSchema: z.object({
        place: z.string().min(1, 'must not be empty').max(60, 'must have 60 characters at most'),
      }),
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    p.gate.tool(async ({ place }, ctx) => {
      const credential = await ctx.gate.credential({
        name: 'weather-station',
        title: weatherKey.title,
        fields: [
          {
            name: 'apiKey',
            label: weatherKey.label,
            pattern: 'ws_[A-Za-z0-9_-]+',
            help: weatherKey.help(p.weatherUrl),
          },
        ],
        retention: 'lasting',
      });

      let response = await requestForecast(place, credential.values.apiKey);
      if (response.status === 401) {
        // The user has replaced the key. Elicits the new one, unless Postern already has it.
        const renewed = await credential.rejected();
        response = await requestForecast(place, renewed.values.apiKey);
      }
      if (!response.ok) return failure(`Weather Station answered ${response.status}.`);
      const forecast = forecastSchema.parse(await response.json());
      return answer(`${forecast.place}: ${forecast.summary}`);
    }),
  );
}
