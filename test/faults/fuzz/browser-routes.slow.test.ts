import { describe } from 'vitest';
import { fuzzRoutes, isForMachines } from './fuzz-routes.ts';

describe('S44, S47: damaged requests to a route for browsers', await fuzzRoutes(route => !isForMachines(route)));
