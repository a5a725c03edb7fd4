"""The words of some trades (electronics, restaurants, beers, companies), and how two sources share their things.

Used by `sources.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from catalogues import LETTERS, Case, Language, Row, two_tables

Thing = dict[str, str]
Writer = Callable[[Thing], Row]
COLOURS = ["Black", "White", "Silver", "Red", "Blue", "Pink", "Stainless Steel", "Titanium", "Green", "Brown"]
GADGETS = {
    "Turntable": ("Belt-Drive", "Automatic", "Stereo", "System"), "Headphones": ("Noise Canceling", "In-Ear", "Stereo"),
    "Digital Camera": ("10 Megapixel", "7.1 Megapixel", "Optical Zoom", "PowerShot"), "Microwave Oven": (
        "Over-The-Range", "1.6 Cubic Foot", "2.0 Cubic Foot", "Convection", "1000 Watt"),
    "Ethernet Switch": ("8-Port", "5-Port", "16-Port", "Gigabit", "10/100", "Workgroup"), "Dishwasher": (
        "24'", "Built-In", "Tall Tub", "Energy Star"), "Washer": ("Front Load", "4.0 Cu. Ft.", "High Efficiency"),
    "LCD HDTV": ("32'", "37'", "42'", "52'", "1080p", "720p", "Widescreen"), "Speaker": (
        "Bookshelf", "Center Channel", "Wireless", "2-Way", "Outdoor", "(Pair)"), "Case": ("Leather", "Flip"),
    "Ink Cartridge": ("Cyan", "Magenta", "Yellow", "High Yield"), "Cordless Phone": (
        "DECT 6.0", "5.8GHz", "Expandable", "2 Handsets", "Answering System"), "GPS Navigator": (
        "Portable", "Bluetooth", "3.5' Touchscreen", "Text-to-Speech"), "Memory Card": ("2GB", "4GB", "8GB", "SDHC"),
    "Blu-ray Disc Player": ("1080p", "BD-Live", "Profile 2.0"), "Refrigerator": ("Side-By-Side", "25 Cu. Ft."),
    "Camcorder": ("MiniDV", "Hard Drive", "40GB", "High Definition"), "Universal Remote": ("Touchscreen", "18-Device"),
    "Car Receiver": ("AM/FM/CD/MP3", "In-Dash", "50W x 4"), "Subwoofer": ("10'", "12'", "Powered", "300W"),
}  # fmt: skip
FEATURES = """dual-speed per port|perfect for home theater|auto reverse|built-in phono preamp|energy star qualified|
digital control panel|child lock|remote included|rechargeable battery|lithium-ion|usb port|dolby digital|sleep timer|
adjustable legs|removable tray|hidden controls|quick start|one touch settings|caller id|speakerphone|backlit keypad|
water filtration|ice dispenser|wall mountable|magnetically shielded|gold plated connectors|up to 200mbps full duplex|
s-video jacks|hdmi inputs|auto focus|image stabilization|3 inch lcd|face detection|smudge proof|delay wash|cd-r|
aluminum housing|limited lifetime warranty|plug and play|wireless range of 300 feet|steam cycle|night vision|bass boost|
programmable presets|glass turntable|frost free|super multi drive|windows vista|ipod ready|satellite radio ready"""
CUISINES = ["American", "American (New)", "Italian", "French", "French (New)", "Chinese", "Japanese", "Mexican", "Thai",
            "Steakhouses", "Seafood", "Delis", "Continental", "Indian", "Coffee Shops", "BBQ", "Cajun"]  # fmt: skip
CITIES = ["New York", "Los Angeles", "San Francisco", "Atlanta", "Las Vegas", "Chicago", "Boston", "Santa Monica"]
STREETS = {"Street": "St.", "Avenue": "Ave.", "Boulevard": "Blvd.", "Road": "Rd.", "Drive": "Dr.", "Place": "Pl."}
STYLES = ["American IPA", "American Double / Imperial IPA", "American Pale Ale (APA)", "American Amber / Red Ale",
          "Russian Imperial Stout", "Hefeweizen", "Saison / Farmhouse Ale", "Belgian Strong Dark Ale", "Porter",
          "American Brown Ale", "Oatmeal Stout", "Pilsner", "Fruit / Vegetable Beer", "Barleywine"]  # fmt: skip
BEERS = ["Imperial", "Double", "Barrel Aged", "Bourbon", "Red", "Amber", "Pale", "Brown", "Winter", "Harvest", "Hop",
         "Black", "Old", "Smoked", "Summer", "Oak Aged", "Rye", "Session", "Pumpkin", "Single Hop"]  # fmt: skip
KINDS_OF_BEER = ["IPA", "Ale", "Red Ale", "Stout", "Porter", "Lager", "Pilsner", "Wheat", "Amber Ale", "Saison"]
FORMS = ["Inc", "Inc.", "Incorporated", "Corp", "Corporation", "Ltd", "Limited", "LLC", "GmbH", "AG", "S.A.", "plc",
         "& Co. KG", "Co.", "B.V.", "S.p.A."]  # fmt: skip
TRADES = ["Systems", "Technologies", "Foods", "Logistics", "Pharma", "Motors", "Energy", "Bank", "Insurance", "Media",
          "Textiles", "Steel", "Software", "Partners", "Holdings", "Capital", "Chemicals", "Services"]  # fmt: skip


class Trade(Language):
    """Draws the things of a trade, and keeps the names that are in use."""

    def maybe(self, value: str, known: float) -> str:
        """The value with this probability, otherwise nothing."""
        return value if self.chance(known) else ""

    def pick(self, *values: str) -> str:
        """One of these values."""
        return self.draw.choice(values)

    def upper(self, least: int, most: int) -> str:
        """Some capital letters."""
        return "".join(self.draw.choices(LETTERS.upper(), k=self.draw.randint(least, most)))

    def digits(self, least: int, most: int) -> str:
        """A number of this many digits."""
        return "".join(self.draw.choices("0123456789", k=self.draw.randint(least, most)))

    def title(self, least: int, most: int) -> str:
        """Some words in title case."""
        return self.text(least, most).title()


def split_things(
    say: Trade, sizes: tuple[int, int], share: float, things: list[Thing], writers: tuple[Writer, Writer], fields: str
) -> Case:
    """Two tables of these sizes; a share of the smaller one is in both. Things must be in a random order."""
    both = int(share * min(sizes))
    chosen = things[: sizes[0]], [*things[:both], *things[sizes[0] : sizes[0] + sizes[1] - both]]
    rows = [[{"entity": one["key"], **write(one)} for one in some] for some, write in zip(chosen, writers)]
    say.draw.shuffle(rows[0])
    return two_tables(rows[0], rows[1], fields, 1)


def collect_things(say: Trade, count: int, make: Callable[[], list[Thing]]) -> list[Thing]:
    """At least this many different things, in a random order; `make` returns things that resemble each other."""
    found: list[Thing] = []
    while len(found) < count:
        found += make()
    for number, one in enumerate(found):
        one["key"] = str(number)
    say.draw.shuffle(found)
    return found
