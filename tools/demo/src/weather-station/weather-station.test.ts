import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWeatherStation, type WeatherStation } from './weather-station.ts';

const people = [
  { sub: 'alice', name: 'Alice Example' },
  { sub: 'bob', name: 'Bob Example' },
];

let station: WeatherStation;
beforeAll(async () => {
  station = await startWeatherStation({ port: 0, people });
});
afterAll(() => station[Symbol.asyncDispose]());

const get = (path: string, key?: string) =>
  fetch(`${station.url}${path}`, { headers: key === undefined ? {} : { 'x-api-key': key } });

async function keyOf(person: string): Promise<string> {
  const page = await (await fetch(station.url)).text();
  return new RegExp(`<code id="key-${person}">([^<]+)</code>`).exec(page)?.[1] ?? 'none';
}

describe('Weather Station', () => {
  it('identifies each person by their key', async () => {
    const keys = [await keyOf('alice'), await keyOf('bob')];
    expect([...station.issuedKeys()]).toEqual(keys);
    const answers = await Promise.all(keys.map(async key => await (await get('/api/key', key)).json()));
    expect(answers).toEqual([{ person: 'alice' }, { person: 'bob' }]);
  });

  it.each([undefined, '', 'ws_made-up'])('rejects the key %j', async key => {
    for (const path of ['/api/key', '/api/forecast?place=Oslo', '/api/nothing'])
      expect((await get(path, key)).status).toBe(401);
  });

  it('survives a request target that is no URL', async () => {
    expect((await get('//')).status).toBe(400);
    expect((await fetch(station.url)).status).toBe(200);
  });

  it('counts the forecasts of a person', async () => {
    const key = await keyOf('bob');
    const before = station.forecastsFor('bob');
    expect(await (await get('/api/forecast?place=Oslo', key)).json()).toMatchObject({ place: 'Oslo' });
    expect((await get('/api/forecast', key)).status).toBe(404);
    expect(station.forecastsFor('bob')).toBe(before + 1);
  });

  it('rejects a replaced key, and still lists it among the issued keys', async () => {
    const [old, other] = [await keyOf('alice'), await keyOf('bob')];
    expect((await fetch(`${station.url}/keys/unknown`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${station.url}/keys/alice`)).status).toBe(404);
    expect((await get('/api/key', old)).status).toBe(200);

    await fetch(`${station.url}/keys/alice`, { method: 'POST', redirect: 'manual' });
    expect((await get('/api/key', old)).status).toBe(401);
    expect((await get('/api/key', await keyOf('alice'))).status).toBe(200);
    expect(await keyOf('bob')).toBe(other);
    expect(station.issuedKeys()).toContain(old);
  });
});
