/** Predefined names for the examples of packages/pages/README.md. */
import type { ConnectView, PageContext } from '@postern/pages';
import type { FastifyReply, FastifyRequest } from 'fastify';

export { chooseLocale, connectPage, loadLanguage, pageHeaders, stylesheet } from '@postern/pages';
export declare const branding: PageContext['branding'];
export declare const request: FastifyRequest;
export declare const reply: FastifyReply;
export declare const view: ConnectView;
