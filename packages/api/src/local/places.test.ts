import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { backgroundOptions } from './background.ts';
import { readLink, writeLink } from './link.ts';
import { LocalError } from './messages.ts';
import { personalFolder, socketPlaces } from './places.ts';
import { claimFolder, folderFault, isOpenToOthers, isOwn, readPrivateFile } from './private-files.ts';
import { homeAmong, type System, thisSystem } from './system.ts';

const linux: System = { platform: 'linux', env: {}, home: '/home/ada', tmpdir: '/tmp', uid: 1000 };
const darwin: System = { ...linux, platform: 'darwin', home: '/home/eve', tmpdir: '/var/folders/xx/yy/T' };
const windows: System = {
  platform: 'win32',
  home: 'C:\\Users\\ada',
  tmpdir: 'C:\\Users\\ada\\AppData\\Local\\Temp',
  uid: undefined,
  env: {
    LOCALAPPDATA: 'C:\\Users\\ada\\AppData\\Local',
    Path: 'C:\\bin',
    SystemRoot: 'C:\\Windows',
    API_KEY: 'canary',
  },
};
test('modes tell who may open a file, but not on Windows', () => {
  const open = (system: System, mode: number) => isOpenToOthers({ mode }, system);
  const modes = [0o600, 0o700, 0o640, 0o604, 0o666];
  expect(modes.map(mode => open(linux, mode))).toEqual([false, false, true, true, true]);
  // What Node.js reports for every file on Windows.
  expect(open(windows, 0o666)).toBe(false);
});

const notPrivate = expect.objectContaining({ code: 'not_private' });

describe('places by system', () => {
  test.each([
    [linux, {}, '/home/ada/.local/state/postern'],
    [linux, { XDG_STATE_HOME: '/state' }, '/state/postern'],
    [linux, { XDG_STATE_HOME: 'state' }, '/home/ada/.local/state/postern'],
    [linux, { XDG_STATE_HOME: '/state', POSTERN_HOME: '/own' }, '/own'],
    [darwin, {}, '/home/eve/Library/Application Support/Postern'],
    [windows, windows.env, 'C:\\Users\\ada\\AppData\\Local\\Postern'],
    [windows, {}, 'C:\\Users\\ada\\AppData\\Local\\Postern'],
    [windows, { POSTERN_HOME: 'D:\\own' }, 'D:\\own'],
    [windows, { LOCALAPPDATA: 'Local' }, 'C:\\Users\\ada\\AppData\\Local\\Postern'],
    [linux, { POSTERN_HOME: '/own/../other/' }, '/other/'],
  ])('the folder of a person: %#', (system, env, folder) => {
    expect(personalFolder({ ...system, env })).toBe(folder);
  });

  test('the folder of a person is the same in every working directory', () => {
    const noHome = expect.objectContaining({ name: LocalError.name, code: 'no_home' });
    for (const system of [linux, windows])
      expect(() => personalFolder({ ...system, env: { POSTERN_HOME: 'own' } })).toThrow(noHome);
    const without = () => {
      throw new Error('ENOENT: no such user');
    };
    expect(homeAmong([() => '', () => 'home', without, () => '/home/ada'])).toBe('/home/ada');
    expect(() => homeAmong([() => '', without])).toThrow(noHome);
    // A folder that is named needs no home.
    const homeless = {
      ...linux,
      env: { POSTERN_HOME: '/own' },
      get home(): string {
        return homeAmong([without]);
      },
    };
    expect(personalFolder(homeless)).toBe('/own');
    expect(() => personalFolder({ ...thisSystem({}), env: {} })).not.toThrow();
  });

  test('on Windows, the socket is a pipe of the store', () => {
    const [one, other] = ['C:\\a.sqlite', 'C:\\b.sqlite'].map(file => [...socketPlaces(file, windows)]);
    expect(one).toEqual([
      { path: expect.stringMatching(/^\\\\\.\\pipe\\postern-[0-9a-f]{16}$/), folder: undefined, isTemporary: false },
    ]);
    expect(other).not.toEqual(one);
  });

  test('on Windows, what is in the profile of the user is his', () => {
    const place = { uid: 0 };
    expect(isOwn(place, 'C:\\Users\\ada\\project\\.postern', windows)).toBe(true);
    for (const foreign of [
      'C:\\.postern',
      'C:\\Users\\.postern',
      'C:\\Users\\ada2\\.postern',
      'D:\\Users\\ada\\.postern',
      '\\\\server\\share\\.postern',
      '//server/share/.postern',
      '\\\\?\\D:\\.postern',
      'C:\\Users\\ada\\..\\public\\.postern',
    ])
      expect(isOwn(place, foreign, windows)).toBe(false);
    expect(isOwn({ uid: 1000 }, '/home/bob', linux)).toBe(true);
    expect(isOwn({ uid: 0 }, '/home/ada', linux)).toBe(false);
  });

  test('S250: a gateway in the background gets no variable that it does not need', () => {
    const env = {
      PATH: '/bin',
      HOME: '/home/ada',
      API_KEY: 'canary',
      NODE_OPTIONS: '--import=x',
      HTTPS_PROXY: 'http://ada:canary@proxy',
      POSTERN_API_KEY: 'pk',
    };
    const trust = { NODE_EXTRA_CA_CERTS: '/ca.pem', NODE_USE_SYSTEM_CA: '1', SSL_CERT_FILE: '/all.pem' };
    const posix = backgroundOptions('/state', { ...linux, env: { ...env, ...trust } });
    expect(posix).toMatchObject({ detached: true, stdio: 'ignore', windowsHide: true, cwd: '/state' });
    expect(posix.env).toEqual({ PATH: '/bin', HOME: '/home/ada', POSTERN_HOME: '/state', ...trust });
    const { LOCALAPPDATA, Path, SystemRoot } = windows.env;
    expect(backgroundOptions('C:\\state', windows).env).toEqual({
      LOCALAPPDATA,
      Path,
      SystemRoot,
      POSTERN_HOME: 'C:\\state',
    });
  });
});

describe('S255: what other users could have put there', () => {
  const system = thisSystem();
  let root: string;
  let folder: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'postern-places-'));
    folder = join(root, 'own');
  });
  afterEach(() => rmSync(root, { recursive: true }));
  const claim = () => claimFolder(folder, system);

  test('is no place for a socket: the first private folder with room is', () => {
    const shared = join(root, 'shared');
    const above = join(root, 'tmp');
    for (const open of [shared, above]) mkdirSync(open, { mode: 0o755 });
    const placesOf = (store: string, env: Record<string, string> = {}) =>
      [...socketPlaces(store, { ...system, env, tmpdir: above })].map(({ folder, isTemporary }) => {
        if (!isTemporary || folder === undefined) return folder;
        rmdirSync(folder);
        return folder.replace(/[^-]{6}$/, '');
      });
    const temporary = [join(above, 'postern-'), '/tmp/postern-'];
    claim();
    expect(placesOf(join(folder, 'a.sqlite'))).toEqual([folder, ...temporary]);
    expect(placesOf(join(shared, 'a.sqlite'))).toEqual(temporary);
    const runtime = { XDG_RUNTIME_DIR: root };
    expect(placesOf(join(shared, 'a.sqlite'), runtime)).toEqual([join(root, 'postern'), ...temporary]);
    chmodSync(join(root, 'postern'), 0o750);
    expect(placesOf(join(shared, 'a.sqlite'), runtime)).toEqual(temporary);
    expect(placesOf(join(shared, 'a.sqlite'), { XDG_RUNTIME_DIR: 'relative' })).toEqual(temporary);
    const long = join(folder, 'ü'.repeat(40));
    mkdirSync(long, { mode: 0o700 });
    expect(placesOf(join(long, 'a.sqlite'))).toEqual(temporary);
  });

  test('a gateway that was killed leaves a folder that the next one uses, unless others have it', () => {
    const above = join(root, 'tmp');
    mkdirSync(above);
    const place = (store: string) =>
      [...socketPlaces(join(root, 'long'.repeat(30), store), { ...system, env: {}, tmpdir: above })][0]?.folder ?? '';
    const left = place('a.sqlite');
    expect(place('a.sqlite')).toBe(left);
    expect(place('b.sqlite')).not.toBe(left);
    expect(lstatSync(left).mode & 0o777).toBe(0o700);
    chmodSync(left, 0o755);
    expect(place('a.sqlite')).not.toBe(left);
    rmSync(left, { recursive: true });
    symlinkSync(root, left);
    expect(place('a.sqlite')).not.toBe(left);
  });

  test('the folder of a store that has gone is not made again', () => {
    claim();
    const store = join(folder, 'a.sqlite');
    rmSync(folder, { recursive: true });
    const [first] = socketPlaces(store, { ...system, env: {}, tmpdir: root });
    expect(first?.folder).not.toBe(folder);
    expect(() => writeLink(store, { socket: '/tmp/s.sock', key: 'k'.repeat(43) })).toThrow(notPrivate);
    expect(() => lstatSync(folder)).toThrow();
  });

  test('is refused as a folder: a link, an open one, a file', () => {
    claim();
    expect(lstatSync(folder).mode & 0o777).toBe(0o700);
    claim();
    chmodSync(folder, 0o750);
    expect(claim).toThrow(notPrivate);
    rmSync(folder, { recursive: true });
    mkdirSync(join(root, 'other'), { mode: 0o700 });
    symlinkSync(join(root, 'other'), folder);
    expect(claim).toThrow('is a symbolic link. Use the folder that it leads to.');
    rmSync(folder);
    writeFileSync(folder, '');
    expect(claim).toThrow(notPrivate);
    // Below a file, and with a name that no system takes.
    for (const file of [join(folder, 'a.sqlite'), join(root, 'n'.repeat(5_000))])
      expect(() => readLink(file, system)).toThrow(notPrivate);
  });

  test.runIf(process.getuid?.() === 0)('is refused as a folder or file of another user', () => {
    claim();
    const file = join(folder, 'file');
    writeFileSync(file, 'text', { mode: 0o600 });
    chownSync(file, 1234, 1234);
    expect(() => readPrivateFile(file, system)).toThrow(notPrivate);
    chownSync(folder, 1234, 1234);
    expect(claim).toThrow(notPrivate);
    // There is no such owner on Windows, nor such a mode.
    chmodSync(folder, 0o777);
    expect(folderFault(folder, lstatSync(folder), { ...windows })).toBeUndefined();
  });

  test('is refused as a file: a link, an open one, a large one', () => {
    claim();
    const store = join(folder, 'postern.sqlite');
    const link = { socket: '/tmp/s.sock', key: 'k'.repeat(43) };
    const file = `${store}.local`;
    expect(readLink(store, system)).toBeUndefined();
    writeLink(store, { ...link, socket: '/tmp/before' });
    writeLink(store, link);
    expect(readLink(store, system)).toEqual(link);
    expect(lstatSync(file).mode & 0o777).toBe(0o600);
    chmodSync(file, 0o640);
    expect(() => readLink(store, system)).toThrow(notPrivate);
    rmSync(file);
    writeFileSync(join(folder, 'real'), JSON.stringify(link), { mode: 0o600 });
    symlinkSync(join(folder, 'real'), file);
    expect(() => readLink(store, system)).toThrow(notPrivate);
    rmSync(file);
    writeFileSync(file, ' '.repeat(5_000), { mode: 0o600 });
    expect(() => readLink(store, system)).toThrow(notPrivate);
    writeFileSync(file, '{"socket"');
    expect(readLink(store, system)).toBeUndefined();
  });
});
