/** Predefined names for the examples of docs/frameworks.md. */
export type { FastMCP } from 'fastmcp';
export { z } from 'zod';
export declare const url: string;
export declare const apiKey: string;
export declare function authenticate(): Promise<Record<string, unknown>>;
export declare function userOf(session: unknown): string;
