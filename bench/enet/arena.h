// What the server and the players of W5 say to each other: the inputs and records of relay.
#include "peer.h"

// An input is the direction and the speed that a player asks for: u8 0, angle f32, norm f32.
enum { INPUT_BYTES = 9 };

// What the server sends: u8 0 and records, or u8 3 and the number of the player's own entity.
enum { RECORDS = 0, YOU = 3, YOU_BYTES = 3 };

// A record is entity u16, kind u8, size u8, x and y f64, angle and norm f32, sprite, health and cooldown u16.
enum { RECORD_BYTES = 34, RECORD_ANGLE = 20 };

void put16(uint8_t *b, uint16_t x);
uint16_t get16(const uint8_t *b);
void put_float(uint8_t *b, float x);
void put_double(uint8_t *b, double x);
float get_float(const uint8_t *b);
